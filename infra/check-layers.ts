import { cruise, type IConfiguration, type ICruiseResult } from 'dependency-cruiser';

// Without modules every rule holds: a wrong folder or a resolver that finds nothing must not pass.
const MODULES_MIN = 50;

const file = new URL('../.dependency-cruiser.mjs', import.meta.url).href;
const { forbidden, options } = ((await import(file)) as { default: Required<Pick<IConfiguration, 'forbidden' | 'options'>> }).default;
const folders = ['src', 'functions', 'infra', 'test'];
const { output } = await cruise(folders, { ...options, ruleSet: { forbidden }, validate: true, outputType: 'json' });
const { summary } = JSON.parse(output as string) as ICruiseResult;

for (const { from, to, rule } of summary.violations) console.error(`${rule.name}: ${from} → ${to}`);
console.log(
  `${summary.totalCruised} modules, ${summary.totalDependenciesCruised ?? 0} dependencies, ${summary.violations.length} violations`,
);
if (summary.totalCruised < MODULES_MIN) console.error(`fewer than ${MODULES_MIN} modules were looked at`);
if (summary.violations.length > 0 || summary.totalCruised < MODULES_MIN) process.exitCode = 1;
