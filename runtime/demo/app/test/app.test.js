import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { createApp } from "../src/app.js"

const app = createApp()
let url
before(
  () =>
    new Promise((resolve) =>
      app.listen(0, "127.0.0.1", () => resolve((url = `http://127.0.0.1:${app.address().port}`))),
    ),
)
after(() => app.close())

test("the home page says when the hall is open", async () => {
  const response = await fetch(url)
  assert.equal(response.status, 200)
  assert.match(await response.text(), /Tuesdays and Fridays/)
})

test("what is not there is not found", async () => {
  assert.equal((await fetch(`${url}/attic`)).status, 404)
})
