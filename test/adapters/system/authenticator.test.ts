import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAuthenticator } from '../../../src/adapters/system/authenticator.ts';

const bytes = fc.uint8Array({ maxLength: 200 });
const secret = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });

test('tags are HMAC-SHA-256 under the newest secret, and verify under any of them', async () => {
  await fc.assert(
    fc.asyncProperty(bytes, secret, secret, async (content, newest, older) => {
      const tag = createHmac('sha256', Buffer.from(newest)).update(content).digest();
      const rotating = createAuthenticator([newest, older]);
      expect(Buffer.compare(await rotating.tag(content), tag)).toBe(0);
      expect(await rotating.verify(content, tag)).toBe(true);
      expect(await rotating.verify(content, createHmac('sha256', Buffer.from(older)).update(content).digest())).toBe(true);
      expect(await createAuthenticator([`${newest}.`]).verify(content, tag)).toBe(false);
    }),
  );
});

test('a tag with a bit changed, cut, or of other bytes does not verify', async () => {
  const authenticator = createAuthenticator(['secret']);
  const content = Buffer.from('content');
  const tag = await authenticator.tag(content);
  for (let at = 0; at < tag.length * 8; at += 1) {
    const forged = tag.map((byte, index) => (index === at >> 3 ? byte ^ (1 << (at & 7)) : byte));
    expect(await authenticator.verify(content, forged)).toBe(false);
  }
  expect(await authenticator.verify(content, tag.subarray(0, 31))).toBe(false);
  expect(await authenticator.verify(content, Buffer.of())).toBe(false);
  expect(await authenticator.verify(Buffer.from('other'), tag)).toBe(false);
});
