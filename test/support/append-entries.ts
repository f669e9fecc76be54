/** A process that puts entries into a folder one after the other, for tests of several at once and of killed ones. */
import { openFolderBackend } from "../../src/backends/folder-backend.ts"
import { draft } from "../unit/backends/contract.ts"

const [root, writer, most] = process.argv.slice(2)
const backend = openFolderBackend(root!, writer!)
for (let n = 1; n <= Number(most); n++) {
  await backend.put([
    draft({ sessionId: writer!, chunkIndex: n, content: `${writer} says ${n} `.repeat(200) }),
  ])
  console.log(n)
}
