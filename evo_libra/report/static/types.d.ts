// The records of `evo_libra.report.records`, and what the scripts of the page share. Checked by tsc, not shipped.
interface Column {
  key: string; label: string; kind: "objective" | "gene" | "plan" | "other"; values: (number | null)[];
  names: string[]; shown: boolean; log: boolean; least: number; most: number; few: number[];
  low: (number | null)[]; high: (number | null)[]; faint: boolean; factor: number;
}
interface Searched { key: string; unit: string; kind: "text" | "integer" | "number"; names: (string | number | null)[]; values: number[] }
/** Sizes of units in SI, by their kind and name. */
interface Units { [kind: string]: Record<string, number> }
interface Result { name: string; address: string; designs: number; shown: number; proof: string; band: number[][]; facts: Record<string, string> }
interface Family { name: string; topology: string; drawing: string }
interface Reference { name: string; design: string; values: Record<string, number>; source: string }
interface Step { name: string; time_ms: number; text: string; where: string; start: number; share: number }
interface Waterfall { title: string; unit: string; weight: number; total_ms: number; steps: Step[] }
interface Table { title: string; columns: string[]; rows: (string[] | null)[]; words: string[]; folds: string[]; strong: number[][] }
interface Detail { figures: [string, string][]; waterfalls: Waterfall[]; tables: Table[]; slots: Record<string, string>; sentences: string[]; drawing: string }
interface Run { name: string; evaluations: number[]; hypervolume: number[] }
interface Group { name: string; runs: Run[]; attainment: Record<string, number[][]> }
interface Doc {
  title: string; made_by: string; columns: Column[]; results: Result[]; families: Family[];
  rows: { id: number[]; result: number[]; design: string[] };
  marks: Record<string, number[]>; references: Reference[]; details: Record<string, Detail>; rule: string;
  groups: Group[]; commands: Record<string, string>; notes: string[]; verdict: string[]; buy: number[]; searched: Searched[]; units: Units; colours: string[]; noun: string; version: number;
}
/** A column with its values as numbers, NaN for none. */
interface Field extends Column { data: Float64Array }
/** Where values lie on an axis from 0 to 1. */
interface Scale { log: boolean; low: number; high: number }
/** What draws rows in slices, so that no frame takes long. */
interface Layer { busy(): boolean; restart(): void; work(most: number): void }
interface Limits { low: number; high: number }
