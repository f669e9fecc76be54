/** What a message that the host kept says in a list of changes was told as lost: only a call's outermost fields were read. */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("receipts: kept is what stands anywhere in a call that the host kept", async () => {
  using machine = new Machine()
  const kept = "aaaaaaaa-0000-4000-8000-000000000001"
  const edits = [{ old_string: "const a = 1", new_string: "const a = retryLimit" }]
  const session = machine.session().user("Limit the retries").message()
  session.block(
    { type: "tool_use", id: "toolu_1", name: "MultiEdit", input: { file_path: "/src/client.ts", edits } },
    { uuid: kept },
  )
  session.say("Done.").line({
    type: "system",
    subtype: "compact_boundary",
    compactMetadata: { trigger: "auto", preTokens: 1000, preservedMessages: { allUuids: [kept] } },
  })
  session.summary("Something was limited.").turn("go on").flush()
  expect(await run(["import", session.path], machine)).toMatchObject({ code: 0, stderr: "" })
  const { code, stdout, stderr } = await run(["receipts", "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(JSON.parse(stdout).receipts).toMatchObject([
    {
      kinds: {
        path: { before: 1, kept: 1, given: 0, lost: 0 },
        name: { before: 1, kept: 1, given: 0, lost: 0 },
      },
    },
  ])
})
