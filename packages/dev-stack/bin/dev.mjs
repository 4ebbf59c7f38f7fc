// npm run dev
import { launch } from '../lib/launch.mjs'
import { restartOnChange } from '../lib/restart-on-change.mjs'

await launch(process.argv.slice(2), { develop: restartOnChange })
