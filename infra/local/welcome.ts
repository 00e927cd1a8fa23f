/** What `npm start` prints at the end: three lines that work when pasted. */
export function welcome(url: string, rootToken: string): string {
  const curl = `curl -sS -w '\\n' -H 'Authorization: Bearer ${rootToken}'`;
  const json = `-H 'Content-Type: application/json'`;
  return [
    '',
    `  address     ${url}`,
    `  root token  ${rootToken}`,
    '',
    '  make a topic, publish, read:',
    '',
    `${curl} ${json} -X PUT -d '{"partitionKey":"key"}' ${url}/v1/topics/hello`,
    `${curl} ${json} -d '{"messages":[{"key":"a","text":"Hello, Kelp"}]}' ${url}/v1/topics/hello/messages`,
    `${curl} '${url}/v1/topics/hello/messages?cursor=earliest'`,
    '',
    '  Ctrl-C ends it.',
    '',
  ].join('\n');
}
