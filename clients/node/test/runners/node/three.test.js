import { test } from 'node:test'
import { ramariaDatabase } from 'ramaria/node-test'
import body from '../body.cjs'

body.isolation(test, ramariaDatabase)
