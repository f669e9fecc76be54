/** A folder in the place of a model's file was called a defect of ours, and a device was read without end. */
import { expect, test } from "bun:test"
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("what is no file is none of the model's", async () => {
  using machine = new Machine()
  const from = join(machine.root, "model")
  const file = join(from, "onnx", "model_quantized.onnx")
  mkdirSync(file, { recursive: true })
  writeFileSync(join(from, "tokenizer.json"), "{}")
  const refusal = {
    code: 3,
    stdout: "",
    stderr: `ctxbridge: ${from} has no onnx/model_quantized.onnx\nhint: it must hold onnx/model_quantized.onnx and tokenizer.json\n`,
  }
  expect(await run(["model", "install", "--from", from], machine)).toMatchObject(refusal)
  rmSync(file, { recursive: true })
  symlinkSync("/dev/null", file)
  expect(await run(["model", "install", "--from", from], machine)).toMatchObject(refusal)
})
