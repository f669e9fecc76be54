/** `ctxbridge prune recommend`. */
import { CtxError } from "../../util/errors.ts"
import type { Context } from "../command.ts"

export async function pruneRecommend(_context: Context): Promise<number | void> {
  throw new CtxError("usage", "not built yet")
}
