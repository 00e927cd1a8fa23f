import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Resource = z.object({
  Type: z.string(),
  DeletionPolicy: z.string().optional(),
  Properties: z.record(z.string(), z.unknown()).optional(),
});
const Template = z.object({ Resources: z.record(z.string(), Resource) });

export type Template = z.infer<typeof Template>;
export type Properties = Readonly<Record<string, unknown>>;

export function readTemplate(file: string): Template {
  return Template.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** All resources of a type, by their names in the template. */
export function resourcesOf({ Resources }: Template, type: string): Readonly<Record<string, Properties>> {
  const found = Object.entries(Resources).filter(([, { Type }]) => Type === type);
  return Object.fromEntries(found.map(([name, { Properties }]) => [name, Properties ?? {}]));
}

/** Whether both say the same, in the same order. */
export function isSame(value: unknown, expected: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(expected);
}

/** Whether both have the same, in any order. */
export function haveSame(values: readonly unknown[], expected: readonly unknown[]): boolean {
  return isSame(sortedTexts(values), sortedTexts(expected));
}

const sortedTexts = (values: readonly unknown[]): string[] => values.map((value) => JSON.stringify(value)).toSorted();

/** What CloudFormation makes of these. */
export const arnOf = (name: string) => ({ 'Fn::GetAtt': [name, 'Arn'] });
export const referenceTo = (name: string) => ({ Ref: name });
