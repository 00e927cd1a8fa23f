export type Welcome = {
  readonly url: string;
  readonly rootToken: string;
  readonly brokers: readonly { readonly id: string; readonly url: string }[];
  /** The line that has one more broker join. */
  readonly join: string;
  /** The line that restarts these. */
  readonly restart: string;
};

/** What `npm start` prints at the end: three lines that work when pasted, and one for another terminal. */
export function welcome({ url, rootToken, brokers, join, restart }: Welcome): string {
  return [
    ...addressLines(url, rootToken),
    ...(brokers.length === 1 ? [] : brokers.map((broker, n) => `  ${n === 0 ? 'brokers' : '       '}     ${broker.url} (${broker.id})`)),
    ...curlLines(url, rootToken),
    '  one more broker, in another terminal, in this folder:',
    '',
    join,
    '',
    ...(brokers.length === 1 ? [] : ['  restart these, one after the other:', '', restart, '']),
    '  Ctrl-C ends it.',
    '',
  ].join('\n');
}

/** The same for functions; `logFile`: what they have written. */
export function welcomeOffline({ url, rootToken, logFile }: { readonly logFile: string } & Pick<Welcome, 'url' | 'rootToken'>): string {
  const lines = [...addressLines(url, rootToken), `  log         ${logFile}`, ...curlLines(url, rootToken), '  Ctrl-C ends it.', ''];
  return lines.join('\n');
}

const addressLines = (url: string, rootToken: string): string[] => ['', `  address     ${url}`, `  root token  ${rootToken}`];

function curlLines(url: string, rootToken: string): string[] {
  const curl = `curl -sS -w '\\n' -H 'Authorization: Bearer ${rootToken}'`;
  const json = `-H 'Content-Type: application/json'`;
  return [
    '',
    '  make a topic, publish, read:',
    '',
    `${curl} ${json} -X PUT -d '{"partitionKey":"key"}' ${url}/v1/topics/hello`,
    `${curl} ${json} -d '{"messages":[{"key":"a","text":"Hello, Kelp"}]}' ${url}/v1/topics/hello/messages`,
    `${curl} '${url}/v1/topics/hello/messages?cursor=earliest'`,
    '',
  ];
}
