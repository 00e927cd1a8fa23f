import { expect, test } from 'vitest';
import { type Finding, unexplained } from '../../infra/stack/lint-template.ts';

const findingOf = (rule: string, ...path: readonly (string | number)[]): Finding => ({
  Level: 'Warning',
  Rule: { Id: rule },
  Message: 'found',
  Location: { Path: ['Resources', ...path] },
});

test('what the packaging tool writes twice is explained', () => {
  const written = [
    findingOf('W3005', 'ReadBufferedLambdaFunction', 'DependsOn', 1),
    findingOf('W3005', 'BrokerProvConcLambdaAlias', 'DependsOn'),
    findingOf('W3005', 'HttpApiRoutePutV1TopicsTopicVar', 'DependsOn'),
  ];
  expect(unexplained(written)).toEqual([]);
});

test.each([
  [findingOf('W3005', 'RebalanceHinderedAlarm', 'DependsOn'), 'Warning W3005: found (RebalanceHinderedAlarm/DependsOn)'],
  [findingOf('W3005', 'ReadLambdaFunction', 'DependsOn', 0), 'Warning W3005: found (ReadLambdaFunction/DependsOn/0)'],
  [findingOf('E3002', 'HttpApiRouteDefault', 'DependsOn'), 'Warning E3002: found (HttpApiRouteDefault/DependsOn)'],
  [{ ...findingOf('E0000'), Location: { Path: null } }, 'Warning E0000: found ()'],
])('the same rule elsewhere, and another one there, are not: %#', (finding, line) => {
  expect(unexplained([finding])).toEqual([line]);
});
