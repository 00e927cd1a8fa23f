/** A message of the model, where the table says that it is: `object`, or a file. */
export type StoredMessage = {
  readonly message: string;
  readonly segment: string;
  readonly offset: number;
  readonly object: string;
};
