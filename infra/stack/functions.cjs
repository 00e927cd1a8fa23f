/** @typedef {{ resolveVariable(name: string): Promise<unknown> }} Deps */

/**
 * The functions of serverless.yml by their names, where they stand in several maps.
 * @param {Deps} deps
 */
async function functionsOf({ resolveVariable }) {
  const maps = /** @type {Record<string, { timeout: number }>[]} */ (await resolveVariable('self:functions'));
  return /** @type {Record<string, { timeout: number }>} */ (Object.assign({}, ...maps));
}

module.exports = { functionsOf };
