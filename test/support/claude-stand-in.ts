/** A program named `claude` that notes how it was called, and answers in print mode what it was told to. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Machine } from "./machine.ts"

export class ClaudeStandIn {
  readonly #folder: string

  /** From now on, whoever calls `claude` by name on this machine gets it. */
  constructor(machine: Machine) {
    this.#folder = join(machine.root, "stand-in")
    const bin = join(this.#folder, "bin")
    mkdirSync(bin, { recursive: true })
    const at = (name: string): string => `'${join(this.#folder, name)}'`
    writeFileSync(
      join(bin, "claude"),
      `#!/bin/sh
cat > ${at("stdin")}; env > ${at("env")}; printf '%s\\n' "$@" > ${at("args")}; ls -A > ${at("files")}
echo called >> ${at("calls")}
while [ -e ${at("waits")} ] && [ "$(wc -l < ${at("calls")})" -gt "$(cat ${at("waits")})" ]; do sleep 0.05; done
cat ${at("answer")}
exit $(cat ${at("code")})
`,
    )
    chmodSync(join(bin, "claude"), 0o755)
    machine.env["PATH"] = `${bin}:/usr/bin:/bin`
    this.answers("{}")
  }

  /** @param text of the model */
  answers(text: string, { failed = false, cost = 0.0125 } = {}): void {
    const result = { type: "result", is_error: failed, result: text, total_cost_usd: cost }
    const told = { ...result, modelUsage: { "claude-haiku-4-5": {} } }
    writeFileSync(join(this.#folder, "answer"), JSON.stringify(told))
    writeFileSync(join(this.#folder, "code"), failed ? "1" : "0")
  }

  /** After so many calls, it does not answer before it is told to. */
  waits(after: number): void {
    writeFileSync(join(this.#folder, "waits"), String(after))
  }

  goesOn(): void {
    rmSync(join(this.#folder, "waits"))
  }

  get calls(): number {
    return this.last("calls").split("\n").filter(Boolean).length
  }

  /** What the last call was given. */
  last(what: "stdin" | "env" | "args" | "files" | "calls"): string {
    const file = join(this.#folder, what)
    return existsSync(file) ? readFileSync(file, "utf8") : ""
  }
}
