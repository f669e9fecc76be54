/** Tells which commands were run at all: one refused by a human, a hook or the host says nothing about itself. Pure. */
import { NOT_RUN } from "../../agents/claude-code/content.ts"

/** Hosts before 2.0 do not tell how a command ended. */
const TELLS_NO_STATUS = "GLOB '[01].*'"

/**
 * SQL condition on a shell call. A hook refuses in its own words, so only the missing exit status tells its refusal and
 * output apart.
 *
 * @param call the table's name in the query
 */
export const wasRun = (call: string): string => {
  const version = `(SELECT version FROM sessions WHERE id = ${call}.session)`
  const refusals = NOT_RUN.map((beginning) => `${call}.error NOT LIKE '${beginning.replaceAll("'", "''")}%'`)
  return `(${call}.is_error IS NOT 1 OR ${call}.exit_code IS NOT NULL
    OR (coalesce(${version}, '0.') ${TELLS_NO_STATUS} AND ${refusals.join(" AND ")}))`
}
