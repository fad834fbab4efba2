const { ramariaDatabase } = require('ramaria/jest')
const body = require('../body.cjs')

body.isolation(test, ramariaDatabase)
