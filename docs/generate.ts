/** `npm run docs`: writes what comes from the code into the pages. test/docs.test.ts says when it is due. */
import { join } from "node:path"
import { overview } from "../src/cli/overview.ts"
import { createStyle } from "../src/cli/style.ts"
import { optionsTable, withBlock } from "./blocks.ts"

const ROOT = join(import.meta.dir, "..")

/** The lines of `ctxbridge --help` between its head and its foot. */
export async function commandBlock(): Promise<string> {
  const [, list = ""] = (await overview(createStyle(false))).split("\n\n")
  return `\`\`\`text\n${list}\n\`\`\``
}

async function rewrite(path: string, block: string, content: string): Promise<void> {
  const file = Bun.file(join(ROOT, path))
  const page = await file.text()
  const next = withBlock(page, block, content)
  if (next === page) return
  await Bun.write(file, next)
  console.log(`${path}: ${block}`)
}

if (import.meta.main) {
  await rewrite("docs/configuration.md", "options", optionsTable())
  await rewrite("README.md", "commands", await commandBlock())
}
