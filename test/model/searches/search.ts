/** A scope, how large it is in CI and in `npm run model`, and the limits that make it deep. Plain data. */
export type Search = {
  readonly name: string;
  readonly rows: string;
  /** File below scopes, and the function that builds it. */
  readonly file: string;
  readonly scope: string;
  readonly small: Size;
  readonly large: readonly Size[];
  readonly limits?: Readonly<Record<string, number>>;
};
export type Size = Readonly<Record<string, number | boolean>>;
