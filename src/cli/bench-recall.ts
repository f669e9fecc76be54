/** `ctxbridge bench recall`: compares ways of searching by how much of the answer to a question they show. */
import { resolve } from "node:path"
import { benchRecall } from "../bench/recall/run.ts"
import { openEmbedder } from "../embed/embedder.ts"
import { EXIT, usageError } from "../util/errors.ts"
import { stringArg } from "./args.ts"
import type { Context } from "./command.ts"
import { renderRecall } from "./render-recall.ts"
import { createStyle } from "./style.ts"

export async function recall({ args, out, env }: Context): Promise<number> {
  const data = stringArg(args, "data")
  if (data === undefined) throw usageError("bench recall needs --data DIR", "ctxbridge bench --help")
  const report = await benchRecall({
    folder: resolve(env.cwd, data),
    embedder: await openEmbedder(env),
    onProgress: out.progress,
  })
  for (const line of renderRecall(report, out.columns, createStyle(out.color))) out.print(line)
  out.json(report)
  return EXIT.ok
}
