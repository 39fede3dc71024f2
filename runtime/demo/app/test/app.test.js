import assert from "node:assert/strict"
import { once } from "node:events"
import { after, before, test } from "node:test"
import { createApp } from "../src/app.js"

const app = createApp().listen(0, "127.0.0.1")
before(() => app.listening || once(app, "listening"))
after(() => app.close())

const get = (path) => fetch(`http://127.0.0.1:${app.address().port}${path}`)

test("the home page says when the hall is open", async () => {
  const response = await get("/")
  assert.equal(response.status, 200)
  assert.match(await response.text(), /Tuesdays and Fridays/)
})

test("what is not there is not found", async () => {
  assert.equal((await get("/attic")).status, 404)
})
