/** Whether this listens on all of the machine's addresses, none of which is its name. */
export const isEverywhere = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Where this machine reaches what listens there: an address of all interfaces is nothing that anybody can call. */
export function reachableUrl(host: string, port: number): string {
  if (isEverywhere(host)) return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
