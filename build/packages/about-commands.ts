/** The manual page and the completions, as the program itself prints them. */
import { join } from "node:path"

const PROGRAM = [process.execPath, join(import.meta.dir, "../../src/main.ts")]

async function said(...args: readonly string[]): Promise<string> {
  const child = Bun.spawn([...PROGRAM, ...args], { stdout: "pipe", stderr: "inherit" })
  const text = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`ctxbridge ${args.join(" ")} failed`)
  return text
}

export const aboutCommands = async () => ({
  manPage: await said("man"),
  completions: {
    bash: await said("completions", "bash"),
    zsh: await said("completions", "zsh"),
    fish: await said("completions", "fish"),
  },
})
