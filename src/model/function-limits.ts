// Bounds of functions, with their reasons: what the platform allows, and what is paid for while it waits.

/** Of a function's remaining time, kept for writing the answer. */
export const RUNTIME_MARGIN_MS = 150;
/** A function's request and answer: the platform ends at 6 MB, after base64. */
export const FUNCTION_REQUEST_BYTES_MAX = 4_194_304;
export const FUNCTION_READ_BYTES_MAX = 2_097_152;
export const FUNCTION_ANSWER_BYTES_MAX = 6_000_000;
/** A function is paid for while it waits. */
export const FUNCTION_WAIT_MS_MAX = 5_000;
/**
 * Work behind a function's answer: the caller waits for it, and what isn't done is done by the next one who finds it undone. As long as
 * its lease: a change of segments that is cut off in the middle keeps many busy.
 */
export const FUNCTION_BACKGROUND_MS_MAX = 10_000;
/** How long an instance believes that its fleet is registered: who took it for dead has deleted its item. A read a minute costs nothing. */
export const FLEET_REGISTERED_MS = 60_000;
/** A function's lease: it may live shorter than that. */
export const FUNCTION_LEASE_MS = 10_000;
