package dump

import "testing"

func TestParseEvent(t *testing.T) {
	e := TableName{"", "e"}
	for _, tc := range []struct {
		text string
		want EventChange
	}{
		{"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1", EventChange{Event: e}},
		{"CREATE DEFINER=`root`@`localhost` EVENT `d`.`e``f` ON SCHEDULE AT '2030-01-01' ON COMPLETION NOT PRESERVE DISABLE DO UPDATE t SET enable=1", EventChange{Event: TableName{"d", "e`f"}, State: EventDisabled}},
		{"create or replace definer='a'@'%' event if not exists e on schedule every 1 day enable comment 'disable' do begin end", EventChange{Event: e, IfMissing: true, State: EventEnabled}},
		{"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE ON SLAVE DO SELECT 1", EventChange{Event: e, State: EventReplicaDisabled}},
		{"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE ON REPLICA COMMENT 'ENABLE' DO SELECT 1", EventChange{Event: e, State: EventReplicaDisabled}},
		{"/* app */ /*!50106 ALTER */ EVENT e DISABLE", EventChange{Action: AlterEvent, Event: e, State: EventDisabled}},
		{"ALTER DEFINER=CURRENT_USER() EVENT e RENAME TO d.f", EventChange{Action: AlterEvent, Event: e, To: TableName{"d", "f"}}},
		{"ALTER EVENT e RENAME TO f ENABLE DO DO 1", EventChange{Action: AlterEvent, Event: e, To: TableName{"", "f"}, State: EventEnabled}},
		{"ALTER EVENT e DISABLE COMMENT 'x'", EventChange{Action: AlterEvent, Event: e, State: EventDisabled}},
		{"ALTER EVENT e COMMENT 'ENABLE'", EventChange{Action: AlterEvent, Event: e}},
		{"DROP EVENT IF EXISTS d.e", EventChange{Action: DropEvent, Event: TableName{"d", "e"}}},
		{"DROP DATABASE IF EXISTS `d`", EventChange{Action: DropEvents, Event: TableName{Database: "d"}}},
		{"DROP SCHEMA d", EventChange{Action: DropEvents, Event: TableName{Database: "d"}}},
	} {
		if got, ok := ParseEvent([]byte(tc.text)); !ok || got != tc.want {
			t.Errorf("%s: %+v, %t; want %+v", tc.text, got, ok, tc.want)
		}
	}
	for _, text := range []string{
		"", "CREATE TABLE event (id INT)", "CREATE DEFINER=`event`@`x` VIEW v AS SELECT 1", "CREATE DEFINER=a@b TRIGGER event AFTER INSERT ON t FOR EACH ROW DO 1",
		"ALTER TABLE e ENABLE KEYS", "DROP TABLE event", "DROP EVENT", "SELECT event",
		"CREATE DEFINER=a@b PROCEDURE p() BEGIN DROP EVENT e; END",
	} {
		if got, ok := ParseEvent([]byte(text)); ok {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
