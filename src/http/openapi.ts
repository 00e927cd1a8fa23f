import document from '../../openapi.json' with { type: 'json' };

let text: string | undefined;

/** The committed document: part of the program, so that a bundle serves it without a file beside it. */
export function openApiText(): string {
  text ??= JSON.stringify(document);
  return text;
}
