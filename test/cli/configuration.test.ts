import { describe, expect, test } from 'vitest';
import { readConfiguration } from '../../src/cli/configuration.ts';

const COMPLETE = {
  KELP_ROOT_TOKEN: 'root-token-of-the-test',
  KELP_SECRET: 'a-secret-of-the-test',
  KELP_S3_ENDPOINT: 'http://127.0.0.1:8333',
  KELP_S3_ACCESS_KEY: 'access',
  KELP_S3_SECRET_KEY: 'secret',
};

/** The error's lines. */
function problems(environment: Record<string, string | undefined>): string[] {
  try {
    readConfiguration(environment);
  } catch (error) {
    return (error as Error).message.split('\n');
  }
  return [];
}

describe('readConfiguration', () => {
  test('fills in what may be left out', () => {
    const { broker, ...rest } = readConfiguration(COMPLETE);
    expect(broker).toEqual({ id: expect.stringMatching(/^broker-[0-9a-z]{8}$/) as string, zone: '' });
    expect(readConfiguration(COMPLETE).broker.id).not.toBe(broker.id);
    expect(rest).toEqual({
      host: '127.0.0.1',
      port: 7333,
      rootToken: COMPLETE.KELP_ROOT_TOKEN,
      secrets: [COMPLETE.KELP_SECRET],
      requestBytesMax: 16_777_216,
      rebalanceMs: 5_000,
      sweepMs: 3_600_000,
      archiveMs: 300_000,
      fileAgeMs: 3_600_000,
      fileBytesMax: 67_108_864,
      garbageAgeMs: 3_600_000,
      store: { endpoint: 'http://127.0.0.1:8333', bucket: 'kelp', region: 'us-east-1', accessKey: 'access', secretKey: 'secret' },
      table: { table: 'kelp', region: 'us-east-1' },
    });
  });

  test.each([
    ['0', 0],
    ['1000', 1_000],
    ['86400000', 86_400_000],
  ])('KELP_SWEEP_MS=%s is how often it sweeps', (text, sweepMs) => {
    expect(readConfiguration({ ...COMPLETE, KELP_SWEEP_MS: text }).sweepMs).toBe(sweepMs);
  });

  test.each([
    ['KELP_ARCHIVE_MS', 'archiveMs', ['0', '1000', '86400000']],
    ['KELP_ARCHIVE_AGE_MS', 'fileAgeMs', ['0', '604800000']],
    ['KELP_ARCHIVE_BYTES', 'fileBytesMax', ['65536', '67108864']],
    ['KELP_GARBAGE_AGE_MS', 'garbageAgeMs', ['0', '604800000']],
  ] as const)('%s is %s', (name, member, texts) => {
    expect(texts.map((text) => readConfiguration({ ...COMPLETE, [name]: text })[member])).toEqual(texts.map(Number));
  });

  test('an empty variable counts as not set', () => {
    expect(readConfiguration({ ...COMPLETE, KELP_PORT: '', KELP_TABLE_ENDPOINT: '' }).port).toBe(7333);
  });

  test('two secrets while one is being replaced', () => {
    expect(readConfiguration({ ...COMPLETE, KELP_SECRET: 'the-new-secret-16,the-old-secret-16' }).secrets).toEqual([
      'the-new-secret-16',
      'the-old-secret-16',
    ]);
  });

  test('a broker has a name, a zone, an address, and what it shares with the others', () => {
    const names = { KELP_BROKER_ID: 'till-7', KELP_ZONE: 'eu-west-1.a', KELP_PUBLIC_URL: 'https://KELP.example:443/' };
    const { broker, internalSecrets } = readConfiguration({
      ...COMPLETE,
      ...names,
      KELP_INTERNAL_SECRET: 'the-new-secret-16,the-old-secret-16',
    });
    expect(broker).toEqual({ id: 'till-7', zone: 'eu-west-1.a', publicUrl: 'https://kelp.example' });
    expect(internalSecrets).toEqual(['the-new-secret-16', 'the-old-secret-16']);
    expect(readConfiguration(COMPLETE)).not.toHaveProperty('internalSecrets');
  });

  test("the table takes AWS's own credentials, and any for a server of one's own that has none", () => {
    const aws = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key', AWS_SESSION_TOKEN: 'session' };
    const credentials = { accessKey: 'id', secretKey: 'key', sessionToken: 'session' };
    expect(readConfiguration({ ...COMPLETE, ...aws }).table).toEqual({ table: 'kelp', region: 'eu-west-1', ...credentials });
    expect(readConfiguration({ ...COMPLETE, KELP_TABLE_ENDPOINT: 'https://table.example:8000' }).table).toEqual({
      table: 'kelp',
      region: 'us-east-1',
      endpoint: 'https://table.example:8000',
      accessKey: 'local',
      secretKey: 'local',
    });
  });

  test('names every variable that is missing, one line each', () => {
    const lines = problems({});
    expect(lines.map((line) => line.split(' ')[0])).toEqual(Object.keys(COMPLETE));
    for (const line of lines) expect(line).toMatch(/^KELP_\w+ is missing: it must be /);
  });

  test.each([
    ['KELP_PORT', '65536'],
    ['KELP_PORT', '-1'],
    ['KELP_PORT', '7333x'],
    ['KELP_PORT', 'tcp://10.0.0.1:7333'],
    ['KELP_HOST', 'a host'],
    ['KELP_S3_ENDPOINT', '127.0.0.1:8333'],
    ['KELP_S3_ENDPOINT', 'ftp://127.0.0.1'],
    ['KELP_S3_ENDPOINT', 'http://127.0.0.1:8333/bucket'],
    ['KELP_TABLE_ENDPOINT', 'http://'],
    ['KELP_S3_BUCKET', 'UPPER'],
    ['KELP_S3_BUCKET', 'ab'],
    ['KELP_S3_BUCKET', 'a..b'],
    ['KELP_S3_BUCKET', '10.0.0.5'],
    ['KELP_TABLE', 'ab'],
    ['KELP_REQUEST_BYTES_MAX', '16777217'],
    ['KELP_REQUEST_BYTES_MAX', '1e6'],
    ['KELP_REBALANCE_MS', '999'],
    ['KELP_REBALANCE_MS', '60001'],
    ['KELP_REBALANCE_MS', 'never'],
    ['KELP_SWEEP_MS', '999'],
    ['KELP_SWEEP_MS', '86400001'],
    ['KELP_SWEEP_MS', '-1'],
    ['KELP_SWEEP_MS', '1h'],
    ['KELP_ARCHIVE_MS', '999'],
    ['KELP_ARCHIVE_MS', '86400001'],
    ['KELP_ARCHIVE_AGE_MS', '604800001'],
    ['KELP_ARCHIVE_BYTES', '65535'],
    ['KELP_ARCHIVE_BYTES', '67108865'],
    ['KELP_GARBAGE_AGE_MS', '-1'],
    ['KELP_BROKER_ID', '-till'],
    ['KELP_BROKER_ID', 'Till'],
    ['KELP_BROKER_ID', 'a'.repeat(33)],
    ['KELP_ZONE', 'a zone'],
    ['KELP_ZONE', 'a'.repeat(65)],
    ['KELP_PUBLIC_URL', 'kelp.example'],
    ['KELP_PUBLIC_URL', 'https://kelp.example/path'],
  ])('%s=%s is one line that shows it', (name, value) => {
    const lines = problems({ ...COMPLETE, [name]: value });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`${name} must be `);
    expect(lines[0]).toContain(`"${value}"`);
  });

  test.each([
    ['KELP_ROOT_TOKEN', 'short'],
    ['KELP_ROOT_TOKEN', 'has blanks in it, and is long'],
    ['KELP_SECRET', 'short'],
    ['KELP_SECRET', 'a-secret-of-the-test,short'],
    ['KELP_INTERNAL_SECRET', 'short'],
    ['KELP_INTERNAL_SECRET', 'a-secret-of-the-test,a-secret-of-the-test,a-secret-of-the-test'],
    ['KELP_S3_SECRET_KEY', 'with blank'],
  ])('%s=%s is one line that does not show it', (name, value) => {
    const lines = problems({ ...COMPLETE, [name]: value });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`${name} must be `);
    expect(lines[0]).not.toContain(value);
  });
});
