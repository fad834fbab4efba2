require "test_helper"

# Says to a benchmark what each test finds; it counts what differs from test to test.
if ENV["RAMARIA_LEAKS"]
  ActiveSupport::TestCase.setup do
    found = Item.connection.select_value(File.read("../look.sql"))
    File.write(ENV["RAMARIA_LEAKS"], "#{found}\n", mode: "a")
  end
end
