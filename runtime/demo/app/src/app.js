import { createServer } from "node:http"
import { page } from "./page.js"

const home = () => page("Village hall", "<p>Open on Tuesdays and Fridays.</p>")

/** What is answered, by method and path. */
const routes = {
  "GET /": (_, response) => html(response, 200, home()),
}

const html = (response, status, text) => {
  response.writeHead(status, { "content-type": "text/html; charset=utf-8" })
  response.end(text)
}

export const createApp = () =>
  createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost")
    const answer = routes[`${request.method} ${pathname}`]
    if (answer === undefined) return html(response, 404, page("Not found", "<p>There is no such page.</p>"))
    return answer(request, response)
  })
