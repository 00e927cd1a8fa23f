const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { problemsOf } = require('./settings.cjs');

/**
 * @typedef {{ service: { provider: { stage: string }, functions: Record<string, { package: { patterns: string[] } }> },
 *   configurationInput: { provider?: { stage?: string }, params?: Record<string, import('./settings.cjs').Values> },
 *   processedInput: { options: { stage?: string, param?: string[] } }, serviceDir: string,
 *   classes: { Error: new (message: string, code: string) => Error } }} Serverless
 */

/**
 * A plugin of serverless.yml: it refuses settings that are wrong, a line for each, before anything is looked up by them, and once
 * more when all that serverless.yml looks up is known; and it packages nothing that was not built.
 */
module.exports = class CheckSettings {
  /** @param {Serverless} serverless */
  constructor(serverless) {
    this.serverless = serverless;
    this.hooks = { initialize: () => this.checkSettings(), 'before:package:cleanup': () => this.checkBundles() };
    this.checkSettings();
  }

  checkSettings() {
    const { configurationInput, processedInput, classes } = this.serverless;
    const { provider, params = {} } = configurationInput;
    const { options } = processedInput;
    const named = options.stage ?? provider?.stage;
    const stage = named === undefined || named.includes('${') ? 'dev' : named;
    const values = { ...params.default, ...withoutEmpty(params[stage]), ...givenOf(options.param ?? []) };
    const problems = problemsOf({ stage, values });
    if (problems.length > 0) throw new classes.Error(problems.join('\n'), 'INVALID_SETTINGS');
  }

  checkBundles() {
    const { service, serviceDir, classes } = this.serverless;
    const files = Object.values(service.functions).flatMap(({ package: { patterns } }) => patterns.filter((file) => !file.startsWith('!')));
    const missing = [...new Set(files)].filter((file) => !existsSync(join(serviceDir, file)));
    if (missing.length > 0) throw new classes.Error(`not built: ${missing.join(', ')}; "npm run build" makes them`, 'NOT_BUILT');
  }
};

/**
 * One without a value leaves the default.
 * @type {(values?: import('./settings.cjs').Values) => import('./settings.cjs').Values}
 */
const withoutEmpty = (values = {}) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));

/**
 * Each as `name=value`; another form is refused by whoever reads them next.
 * @type {(texts: string[]) => import('./settings.cjs').Values}
 */
const givenOf = (texts) =>
  Object.fromEntries(texts.flatMap((text) => [...text.matchAll(/^([^=]+)=(.+)/g)].map(([, name, value]) => [name, value.trimEnd()])));
