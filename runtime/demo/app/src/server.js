import { createApp } from "./app.js"

const port = Number(process.env.PORT ?? 8080)
createApp().listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}`))
