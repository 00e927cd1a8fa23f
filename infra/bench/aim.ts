export type Aim = {
  readonly kind: 'aim';
  readonly case: string;
  readonly aim: string;
  /** What was measured, in the words of the aim. */
  readonly figure: string;
  readonly met: boolean;
};
