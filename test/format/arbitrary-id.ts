import fc from 'fast-check';

/** Ids of topics and objects: 16 characters, the first one a letter. */
export const arbitraryId: fc.Arbitrary<string> = fc.stringMatching(/^[a-z][0-9a-z]{15}$/);
