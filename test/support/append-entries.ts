/** A process that puts entries into a folder one after the other, for tests of several at once and of killed ones. */
import { openFolderTarget } from "../../src/sync/targets/folder-target.ts"
import { draft } from "../unit/sync/contract.ts"

const [root, writer, most] = process.argv.slice(2)
const backend = openFolderTarget(root!, writer!)
for (let n = 1; n <= Number(most); n++) {
  await backend.put([
    draft({ sessionId: writer!, chunkIndex: n, content: `${writer} says ${n} `.repeat(200) }),
  ])
  console.log(n)
}
