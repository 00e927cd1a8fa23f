/** An exchange without a whole answer. `sent`: it may have reached the other side, whole or in part. */
export class ExchangeFailure extends Error {
  override readonly name = 'ExchangeFailure';
  readonly sent: boolean;

  constructor(sent: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : 'the exchange was given up', { cause });
    this.sent = sent;
  }
}

/** What is known of a call that failed, whichever client made it. */
export type Failure = {
  readonly sent: boolean;
  /** Of a whole answer. */
  readonly status?: number;
  /** The error's name as the service gave it, without a namespace; absent if the answer could not be understood. */
  readonly code?: string;
  readonly cause: unknown;
};

/** The SDK's errors as such a failure. It hides the connection, so only the error's own system call tells that nothing was sent. */
export function failureOfSdk(error: unknown): Failure {
  if (!(error instanceof Error)) return { sent: true, cause: error };
  const { $fault, $metadata } = error as { $fault?: unknown; $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  return {
    sent: !failedBeforeSending(error),
    ...(status === undefined ? {} : { status }),
    ...($fault === undefined || UNNAMED.has(error.name) ? {} : { code: error.name }),
    cause: error,
  };
}

/** What the SDK calls an error whose name it did not find in the answer. */
const UNNAMED = new Set(['Unknown', 'UnknownError', 'Error']);

function failedBeforeSending(error: Error): boolean {
  // A host with several addresses fails once with all its failures inside.
  if (error instanceof AggregateError)
    return error.errors.length > 0 && error.errors.every((inner) => inner instanceof Error && failedBeforeSending(inner));
  const { syscall } = error as NodeJS.ErrnoException;
  return syscall === 'connect' || syscall === 'getaddrinfo';
}
