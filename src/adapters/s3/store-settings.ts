export type StoreSettings = {
  readonly bucket: string;
  readonly region: string;
  /** Absent: the region's own. */
  readonly endpoint?: string;
  /** Where clients reach the store, if not there; it may have a path. */
  readonly publicEndpoint?: string;
  /** Absent (with `secretKey`): the runtime's own credentials, which only the SDK finds. */
  readonly accessKey?: string;
  readonly secretKey?: string;
  /** For temporary credentials. */
  readonly sessionToken?: string;
};
