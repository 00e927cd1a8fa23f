import { resourcesOf, type Template } from './template.ts';

/** What functions/read.ts exports for function URLs. */
const STREAMING = 'dist/functions/read.handler';

/**
 * What must hold of who calls which handler, and whether it does. One that streams and one that answers whole are called in
 * different ways, and neither can be told by its answers before it is deployed.
 */
export function checkHandlers(template: Template): Readonly<Record<string, boolean>> {
  const functions = resourcesOf(template, 'AWS::Lambda::Function');
  const streams = (name: string): boolean => functions[name]?.['Handler'] === STREAMING;
  const urls = Object.values(resourcesOf(template, 'AWS::Lambda::Url'));
  const integrations = Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Integration'));
  return {
    'a function URL streams where its handler does': urls.every(
      ({ InvokeMode = 'BUFFERED', TargetFunctionArn }) => streams(functionOf(TargetFunctionArn)) === (InvokeMode === 'RESPONSE_STREAM'),
    ),
    'the HTTP API calls no handler that streams': integrations.every(({ IntegrationUri }) => !streams(functionOf(IntegrationUri))),
  };
}

/** The resource whose ARN it is, or is made of. */
function functionOf(arn: unknown): string {
  const [, name] = /"(\w+LambdaFunction)"/.exec(JSON.stringify(arn ?? null)) ?? [];
  if (name === undefined) throw new Error(`no function is called by ${JSON.stringify(arn)}`);
  return name;
}
