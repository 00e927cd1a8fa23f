import ts from 'typescript';

/** A rule looks at one file and answers what is wrong in it, one line each. */
export type Rule = (path: string, text: string) => string[];

const CODE = /\.(ts|mjs|cjs)$/;
const OURS = /^(src|functions|infra|test|bench)\//;
const FILE_LINES_MAX = 300;
const FUNCTION_FILE_LINES_MAX = 30;
const NAMES_BANNED = /(^|[-/])(utils?|helpers?|manager|impl|misc|common)([-./]|$)|(^|\/)index\.ts$/;
const PATH_SHAPE = /^[a-z0-9.]+(-[a-z0-9.]+)*$/;

// Words are put together here, so that this file does not find itself.
const word = (...parts: string[]): string => parts.join('');
const escape = (text: string): string => text.replaceAll('.', String.raw`\.`);

const HOSTS = [
  word('registry.', 'npmjs'),
  word('pypi.', 'org'),
  word('files.', 'pythonhosted'),
  word('crates', '.io'),
  word('proxy.', 'golang'),
  word('repo1.', 'maven'),
  word('repo.', 'maven'),
  word('deb.', 'debian'),
];
const MACHINE_PATHS = new RegExp(
  [word('/ro', 'ot/'), word('/ho', 'me/[a-z]+/'), word('/wo', 'rk/'), word('/Us', 'ers/')].map((p) => `(?<![\\w.])${p}`).join('|'),
);
const LEFT_BEHIND = new RegExp(
  [
    word(String.raw`\bTO`, String.raw`DO\b`),
    word(String.raw`\bFIX`, String.raw`ME\b`),
    word(String.raw`\b(it|test|describe|suite)(\.\w+)*\.`, String.raw`(skip|only|todo)\b`),
    word('@ts-', '(ignore|expect-error|nocheck)'),
    word('(es|ox)lint', '-disable'),
  ].join('|'),
);

const noRegistryHost: Rule = (_, text) =>
  HOSTS.filter((host) => new RegExp(escape(host)).test(text)).map((host) => `names the registry host ${host}`);

const noMachinePath: Rule = (_, text) => linesThat(text, (line) => MACHINE_PATHS.test(line)).map((n) => `line ${n}: a path of one machine`);

const noSharedFolder: Rule = (path, text) =>
  CODE.test(path)
    ? linesThat(text, (line) => line.includes(word('../sha', 'red'))).map((n) => `line ${n}: reads a folder outside the project`)
    : [];

const nothingLeftBehind: Rule = (path, text) =>
  CODE.test(path) ? linesThat(text, (line) => LEFT_BEHIND.test(line)).map((n) => `line ${n}: left undone, skipped or silenced`) : [];

const fileSize: Rule = (path, text) => {
  if (!CODE.test(path)) return [];
  const lines = text.split('\n').length - 1;
  const linesMax = path.startsWith('functions/') ? FUNCTION_FILE_LINES_MAX : FILE_LINES_MAX;
  return lines > linesMax ? [`${lines} lines, of ${linesMax} at most`] : [];
};

const fileName: Rule = (path) => {
  if (!OURS.test(path) || !CODE.test(path)) return [];
  const shape = path.split('/').filter((part) => !PATH_SHAPE.test(part));
  return [...shape.map((part) => `${part} is not kebab-case`), ...(NAMES_BANNED.test(path) ? ['its name says nothing'] : [])];
};

/** Every wait ends with its caller: types make the ports' signals mandatory, this finds the ways around them. */
const everyWaitHasASignal: Rule = (path, text) => (/^(src|functions)\/.*\.ts$/.test(path) ? inspect(path, text, signalProblem) : []);

/**
 * More than three parameters become an options object. Not counted: the dependencies at the front and the signal at the end,
 * which most functions pass on, and what may be left out.
 */
const fewParameters: Rule = (path, text) => (/^(src|functions|infra)\/.*\.ts$/.test(path) ? inspect(path, text, parameterProblem) : []);

/** `new Date()` reads the clock; `new Date(timeMs)` writes a time that it is given. Lint, which bans the rest, can't tell them apart. */
const noAmbientDate: Rule = (path, text) =>
  /^src\/(?!cli\/|adapters\/system\/).*\.ts$/.test(path) ? inspect(path, text, dateProblem) : [];

export const RULES: Readonly<Record<string, Rule>> = {
  noRegistryHost,
  noMachinePath,
  noSharedFolder,
  nothingLeftBehind,
  fileSize,
  fileName,
  everyWaitHasASignal,
  fewParameters,
  noAmbientDate,
};

function linesThat(text: string, holds: (line: string) => boolean): number[] {
  return text.split('\n').flatMap((line, i) => (holds(line) ? [i + 1] : []));
}

type Finding = (node: ts.Node) => string | undefined;

function inspect(path: string, text: string, find: Finding): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const problems: string[] = [];
  const visit = (node: ts.Node): void => {
    const problem = find(node);
    if (problem !== undefined) problems.push(`line ${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${problem}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return problems;
}

/** Port methods that wait, under the names that ports have, and how many arguments they take with the signal. */
const PORT_CALL = /(?:^|\.)(?:table|store|clock|peers)\.(get|put|update|query|getRange|list|delete|sleep|send)$/;
const PORT_ARGUMENTS: Readonly<Record<string, number>> = {
  get: 2,
  put: 3,
  update: 3,
  query: 2,
  getRange: 4,
  list: 3,
  delete: 2,
  sleep: 2,
  send: 2,
};
/** `fetch`, and the AWS SDK's `client.send`: the signal is in the second argument. */
const OUTSIDE_CALL = /(^|\.)fetch$|[cC]lient\.send$/;

function signalProblem(node: ts.Node): string | undefined {
  if (
    (ts.isParameter(node) || ts.isPropertySignature(node)) &&
    node.questionToken !== undefined &&
    node.type?.getText() === 'AbortSignal'
  ) {
    return 'a signal that may be left out';
  }
  if (ts.isPropertyAccessExpression(node) && node.name.text === 'signal' && ts.isNewExpression(node.expression)) {
    return 'a signal that nobody can abort';
  }
  return ts.isCallExpression(node) ? callProblem(node) : undefined;
}

function callProblem(call: ts.CallExpression): string | undefined {
  const callee = call.expression.getText().replaceAll(/[?!\s]/g, '');
  const method = PORT_CALL.exec(callee)?.[1] ?? '';
  if (call.arguments.length < (PORT_ARGUMENTS[method] ?? 0)) return `${callee} without a signal as its last argument`;
  if (OUTSIDE_CALL.test(callee) && !isOwnHandler(callee) && !hasSignalOption(call)) return `${callee} without a signal in its options`;
  return undefined;
}

function hasSignalOption({ arguments: [, options] }: ts.CallExpression): boolean {
  if (options === undefined) return false;
  return !ts.isObjectLiteralExpression(options) || /signal/i.test(options.getText());
}

/** An app's own `fetch` calls a handler in this process. */
function isOwnHandler(callee: string): boolean {
  return /(^|\.)app\.fetch$/.test(callee);
}

function parameterProblem(node: ts.Node): string | undefined {
  if (!ts.isFunctionLike(node)) return undefined;
  const counted = node.parameters.filter(
    ({ initializer, name }) => initializer === undefined && !/^deps$|^signal$|Signal$/.test(name.getText()),
  );
  return counted.length > 3 ? `${counted.length} parameters` : undefined;
}

function dateProblem(node: ts.Node): string | undefined {
  const readsClock = (ts.isNewExpression(node) && (node.arguments ?? []).length === 0) || ts.isCallExpression(node);
  return readsClock && node.expression.getText() === 'Date' ? 'time comes from ports/clock' : undefined;
}
