require "test_helper"

# Tests that commit, as those with threads, jobs or a browser do. Rails cannot roll them back.
class CommittedTest < ActiveSupport::TestCase
  self.use_transactional_tests = false
  teardown { Order.connection.execute("CALL ramaria.reset()") }

  8.times do |n|
    test "orders, #{n}" do
      items(:tea).update!(name: "chai")
      Order.create!(item: items(:tea))
      assert_equal [1], Order.pluck(:id)
      assert_equal "+00:00", Order.connection.select_value("SELECT @@time_zone")
    end
  end
end
