// Cells of CSV that no spreadsheet runs. rp-core/base/src/csv.rs is the same for what the server writes.

/** A cell that begins with one of these, full-width signs among them, is a formula to some spreadsheet. */
const FORMULA = ["=", "+", "-", "@", "\t", "\r", "\n", "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"];

/** What begins like a formula and is no number, with an apostrophe before it. */
export function safe(text: string): string {
  return FORMULA.some((sign) => text.startsWith(sign)) && Number.isNaN(Number(text)) ? `'${text}` : text;
}
