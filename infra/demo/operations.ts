/** What a broker has asked of its stores since it started. */
export type Operations = { readonly puts: number; readonly tableOperations: number };

const STORE = 'kelp_store_operation_duration_seconds_count';
const TABLE = 'kelp_table_operation_duration_seconds_count';
const CHECKED = 'kelp_uploads_checked_total';
const PUT = 'operation="put"';

/** From the broker's metrics, as Prometheus text. A metric that isn't there has counted nothing yet. */
export function countOperations(metrics: string): Operations {
  return { puts: sumOf(metrics, STORE, PUT), tableOperations: sumOf(metrics, TABLE) };
}

/** Uploads of batches that it has looked at. */
export const countUploadsChecked = (metrics: string): number => sumOf(metrics, CHECKED);

function sumOf(metrics: string, name: string, label = ''): number {
  // Without labels there are no brackets.
  const isOf = (line: string): boolean => line.startsWith(`${name}{`) || line.startsWith(`${name} `);
  const values = metrics.split('\n').filter((line) => isOf(line) && line.includes(label));
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
