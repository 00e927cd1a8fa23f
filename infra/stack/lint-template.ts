import { execFile } from 'node:child_process';
import { z } from 'zod';

const Finding = z.object({
  Level: z.string(),
  Rule: z.object({ Id: z.string() }),
  Message: z.string(),
  Location: z.object({ Path: z.array(z.union([z.string(), z.number()])).nullable() }),
});
export type Finding = z.infer<typeof Finding>;

/** What may be found, and why it stays. */
const EXPLAINED: Readonly<Record<string, string>> = {
  W3005: 'the packaging tool writes dependencies down that a reference has already',
};
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
    .filter(({ Rule }) => EXPLAINED[Rule.Id] === undefined)
    .map(({ Level, Rule, Message, Location }) => `${Level} ${Rule.Id}: ${Message} (${Location.Path?.join('/') ?? ''})`);
}
