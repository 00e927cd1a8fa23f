/** Where this machine reaches what listens there: an address of all interfaces is nothing that anybody can call. */
export function reachableUrl(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
