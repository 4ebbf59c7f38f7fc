// npm start
import { launch } from '../lib/start/launch.mjs'

await launch(process.argv.slice(2))
