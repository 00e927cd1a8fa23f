// serverless-offline loads this as an authenticator: the one place where it lets others see a request before it reads the body.

type Request = { readonly headers: Record<string, string | undefined> };
type Toolkit = { authenticated(result: { readonly credentials: object }): unknown };

/** Whose bodies API Gateway gives on as text, unless they are compressed; all others are in base64. */
const TEXT = /^(?:text\/|application\/(?:json|xml|javascript)(?:;|$))/;

/**
 * It takes a body for bytes by this header alone, and for two types only: any other it makes text of, which destroys it. The
 * header that the function sees comes from elsewhere, and stays as it was sent.
 */
function markBytes({ headers }: Request): void {
  const isText = TEXT.test(headers['content-type'] ?? '') && headers['content-encoding'] === undefined;
  if (!isText) headers['content-type'] = 'application/octet-stream';
}

function offlineBodies(_endpoint: unknown, ...route: readonly string[]): object {
  const name = `bodies-${route.join('-')}`;
  return {
    scheme: name,
    name,
    getAuthenticateFunction: () => ({
      authenticate(request: Request, toolkit: Toolkit) {
        markBytes(request);
        return toolkit.authenticated({ credentials: {} });
      },
    }),
  };
}

// serverless-offline asks for it by `require`.
export { offlineBodies as 'module.exports' };
