import { createReading } from '../broker/create-reading.ts';
import { createApp } from '../http/app.ts';
import type { FunctionHandler } from '../http/function-handler.ts';
import { readingHandlers } from '../http/reading-handlers.ts';
import { createStreamingHandler, type StreamingHandler, type StreamingPlatform } from '../http/streaming-handler.ts';
import { READ_BYTES_MAX } from '../model/limits.ts';
import { assembleFunctionInstance, functionHandler, type FunctionParts, invocationsOf } from './assemble-function.ts';
import type { Configuration } from './configuration.ts';

/** What a bundle gives the platform: each way to call a function takes a handler of its kind. */
export type ReadFunction = {
  /** For the function's own URL; where nothing streams, the same as `buffered`. */
  readonly handler: FunctionHandler | StreamingHandler;
  /** Answers whole, for API Gateway: in pages that fit. */
  readonly buffered: FunctionHandler;
};

/** The function that reads messages. `platform`: absent, or without its functions, where nothing streams. */
export function assembleReadFunction(
  configuration: Configuration,
  { platform, ...parts }: FunctionParts & { readonly platform: Partial<StreamingPlatform> | undefined },
): ReadFunction {
  const instance = assembleFunctionInstance(configuration, parts);
  const deps = { ...instance.app, ...createReading(instance.ports) };
  const buffered = functionHandler(createApp(deps, readingHandlers(deps)), instance);
  // Elsewhere than on the platform, an SDK that was loaded leaves the name with nothing in it.
  if (!isComplete(platform)) return { handler: buffered, buffered };
  const { runtime, limits } = deps;
  // A wait stays as short as it is: it is paid for.
  const streaming = { ...deps, runtime: { ...runtime, streams: true }, limits: { ...limits, readBytesMax: READ_BYTES_MAX } };
  const streamed = createApp(streaming, readingHandlers(streaming));
  return { handler: createStreamingHandler(streamed, platform, invocationsOf(instance)), buffered };
}

const isComplete = (platform: Partial<StreamingPlatform> | undefined): platform is StreamingPlatform =>
  platform?.streamifyResponse !== undefined;
