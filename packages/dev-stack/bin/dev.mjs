// npm run dev
import { launch } from '../lib/start/launch.mjs'
import { restartOnChange } from '../lib/start/restart-on-change.mjs'

await launch(process.argv.slice(2), { develop: restartOnChange })
