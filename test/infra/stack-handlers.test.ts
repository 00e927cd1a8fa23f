import { expect, test } from 'vitest';
import { checkHandlers } from '../../infra/stack/check-handlers.ts';
import { arnOf, type Template } from '../../infra/stack/template.ts';

const STREAMED = 'a function URL streams where its handler does';
const WHOLE = 'the HTTP API calls no handler that streams';
const READY = { 'Fn::Join': [':', [arnOf('ReadBufferedLambdaFunction'), 'provisioned']] };

const functionOf = (handler: string) => ({ Type: 'AWS::Lambda::Function', Properties: { Handler: `dist/functions/${handler}` } });

function stackOf({ url = 'Read', mode = 'RESPONSE_STREAM', integration = arnOf('ReadBufferedLambdaFunction') as object }): Template {
  const properties = { TargetFunctionArn: arnOf(`${url}LambdaFunction`), ...(mode === '' ? {} : { InvokeMode: mode }) };
  return {
    Resources: {
      ReadLambdaFunction: functionOf('read.handler'),
      ReadBufferedLambdaFunction: functionOf('read.buffered'),
      BrokerLambdaFunction: functionOf('broker.handler'),
      OneUrl: { Type: 'AWS::Lambda::Url', Properties: properties },
      OneIntegration: { Type: 'AWS::ApiGatewayV2::Integration', Properties: { IntegrationUri: integration } },
    },
  };
}

test.each([
  ['each handler is called as it answers', {}, []],
  ['so are instances that are kept ready', { integration: READY }, []],
  ['a URL of its own need not stream', { url: 'Broker', mode: '' }, []],
  ['API Gateway before a handler that streams', { integration: arnOf('ReadLambdaFunction') }, [WHOLE]],
  ['a URL that streams before one that answers whole', { url: 'ReadBuffered' }, [STREAMED]],
  ['a URL that takes answers whole before one that streams', { mode: '' }, [STREAMED]],
])('%s', (_, parts, found) => {
  const checks = checkHandlers(stackOf(parts));
  expect(Object.keys(checks)).toEqual([STREAMED, WHOLE]);
  expect(Object.entries(checks).flatMap(([name, holds]) => (holds ? [] : [name]))).toEqual(found);
});
