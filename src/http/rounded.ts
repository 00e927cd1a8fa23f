/** For people: a figure with more decimals than mean something. */
export function rounded(value: number, decimals = 3): number {
  const unit = 10 ** decimals;
  return Math.round(value * unit) / unit;
}
