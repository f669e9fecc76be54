/** Which tool calls were run at all: one that a human or the host refused says nothing about its command. Pure. */
import { NOT_RUN } from "../transcript/content.ts"

/** A condition of SQL. @param error the column with the call's error */
export const wasRun = (error: string): string =>
  NOT_RUN.map((beginning) => `coalesce(${error}, '') NOT LIKE '${beginning.replaceAll("'", "''")}%'`).join(
    " AND ",
  )
