import { Writable } from 'node:stream';
import type { StreamingPlatform } from '../../src/http/streaming-handler.ts';

const DELIMITER_BYTES = 8;

/** Where a function's answer goes, as the platform's Node takes it: whatever is written, behind a prelude if one was set. */
export class ResponseStream extends Writable {
  readonly chunks: Buffer[] = [];
  contentType = 'application/octet-stream';
  /** As of the platform: before the first write, not before the end. */
  prelude: string | undefined;

  setContentType = (contentType: string): void => void (this.contentType = contentType);

  override write(chunk: any, ...rest: any[]): boolean {
    const { prelude } = this;
    this.prelude = undefined;
    if (prelude !== undefined) super.write(Buffer.concat([Buffer.from(prelude), Buffer.alloc(DELIMITER_BYTES)]));
    return (super.write as (...all: any[]) => boolean)(chunk, ...rest);
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.chunks.push(chunk);
    this.emit('taken');
    done();
  }

  /** All that was written. */
  text = (): string => Buffer.concat(this.chunks).toString();

  /** Resolves once this text is there. */
  async until(text: string): Promise<void> {
    while (!this.text().includes(text)) await new Promise((resolve) => this.once('taken', resolve));
  }

  /** What a function URL makes of it. */
  response(): { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: Buffer } {
    const bytes = Buffer.concat(this.chunks);
    const at = bytes.indexOf(Buffer.alloc(DELIMITER_BYTES));
    const { statusCode, headers } = JSON.parse(bytes.subarray(0, at).toString());
    return { status: statusCode, headers, body: bytes.subarray(at + DELIMITER_BYTES) };
  }
}

/** By which the platform's Node knows a handler that takes a stream: all others it calls without one. */
const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming');

export const takesStream = (handler: object): boolean => (handler as Record<symbol, unknown>)[STREAMING] === 'response';

/** The names that the platform's Node has; a handler stays what it is, and is known as one that takes a stream. */
export const streamingPlatform = {
  streamifyResponse: (handler: object) => Object.assign(handler, { [STREAMING]: 'response' }),
  HttpResponseStream: {
    from(stream: ResponseStream, prelude: unknown) {
      stream.setContentType('application/vnd.awslambda.http-integration-response');
      stream.prelude = JSON.stringify(prelude);
      return stream;
    },
  },
} as unknown as StreamingPlatform;
