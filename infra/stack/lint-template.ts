import { execFile } from 'node:child_process';
import { z } from 'zod';

const Finding = z.object({
  Level: z.string(),
  Rule: z.object({ Id: z.string() }),
  Message: z.string(),
  Location: z.object({ Path: z.array(z.union([z.string(), z.number()])).nullable() }),
});
export type Finding = z.infer<typeof Finding>;

type Explained = { readonly rule: string; readonly at: RegExp; readonly why: string };

const TWICE = 'W3005';
/** What may be found, where, and why it stays there: all of them are what the packaging tool writes, and none can be set. */
const EXPLAINED: readonly Explained[] = [
  { rule: TWICE, at: /^\w+LambdaFunction\/DependsOn\/1$/, why: 'a function depends on its role, which it names' },
  { rule: TWICE, at: /^\w+ProvConcLambdaAlias\/DependsOn$/, why: 'instances that are kept ready depend on their function' },
  { rule: TWICE, at: /^HttpApiRoute\w+\/DependsOn$/, why: 'a route depends on the integration that it leads to' },
];
const START = 'import sys; from cfnlint.runner import main; sys.exit(main())';
const OUTPUT_BYTES_MAX = 16_777_216;

/** What cfn-lint finds in a template, errors and warnings alike. `modules`: a folder with the Python package. */
export async function lintTemplate(file: string, modules: string): Promise<readonly Finding[]> {
  const args = ['-c', START, '--format', 'json', '--regions', 'us-east-1', '--template', file];
  const output = await new Promise<string>((resolve, reject) => {
    const options = { env: { ...process.env, PYTHONPATH: modules }, maxBuffer: OUTPUT_BYTES_MAX };
    execFile(process.env['PYTHON'] ?? 'python3', args, options, (error, stdout, stderr) => {
      // With findings, it ends as if it had failed.
      if (stdout.startsWith('[')) resolve(stdout);
      else reject(new Error(`cfn-lint did not run: ${stderr}`, { cause: error }));
    });
  });
  return z.array(Finding).parse(JSON.parse(output));
}

/** One line each. */
export function unexplained(findings: readonly Finding[]): readonly string[] {
  return findings
    .filter((finding) => !EXPLAINED.some(({ rule, at }) => rule === finding.Rule.Id && at.test(placeOf(finding))))
    .map((finding) => `${finding.Level} ${finding.Rule.Id}: ${finding.Message} (${placeOf(finding)})`);
}

/** From the resource's name on. */
const placeOf = ({ Location }: Finding): string => (Location.Path ?? []).join('/').replace(/^Resources\//, '');
